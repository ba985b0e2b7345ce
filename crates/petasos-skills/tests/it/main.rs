//! Skills through the public door of the crate.

#[cfg(test)]
mod curator;
#[cfg(test)]
mod disclosure;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod hub;
#[cfg(test)]
mod manage;
#[cfg(test)]
mod places;
#[cfg(test)]
mod reach;
#[cfg(test)]
mod starter;
#[cfg(test)]
mod typed;
#[cfg(test)]
mod view;
#[cfg(test)]
mod world;
