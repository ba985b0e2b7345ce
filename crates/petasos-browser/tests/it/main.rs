//! The browser engine on the real Chromium, with pages of our own on loopback.

#[cfg(test)]
mod acting;
#[cfg(test)]
mod clouds;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod life;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod profiles;
#[cfg(test)]
mod reach;
#[cfg(test)]
mod reading;
