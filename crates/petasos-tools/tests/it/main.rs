//! The built-in tools through their public door: definitions, `effects` and `run`.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod board;
#[cfg(test)]
mod computer_use;
#[cfg(test)]
mod databases;
#[cfg(test)]
mod diary;
#[cfg(test)]
mod discord;
#[cfg(test)]
mod double;
mod elsewhere;
#[cfg(test)]
mod execute_code;
mod family;
#[cfg(test)]
mod feishu;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod house;
#[cfg(test)]
mod http_request;
#[cfg(test)]
mod labels;
#[cfg(test)]
mod located;
#[cfg(test)]
mod mail;
mod memory;
#[cfg(test)]
mod mixture;
#[cfg(test)]
mod notify;
#[cfg(test)]
mod panel;
mod properties;
mod read_file;
#[cfg(test)]
mod screen;
mod search_files;
#[cfg(test)]
mod send_message;
#[cfg(test)]
mod silent;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod spotify;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod trainer_tree;
#[cfg(test)]
mod training;
mod write_file;
#[cfg(test)]
mod x_search;
#[cfg(test)]
mod yuanbao;
#[cfg(test)]
mod yuanbao_vendor;
