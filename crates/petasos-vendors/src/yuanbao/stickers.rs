//! Stickers that every account of the vendor has, with what they show.

/// The package that they are in.
pub(super) const PACKAGE: &str = "1003";

/// How alike a word must be.
const LIKENESS: f64 = 0.9;

/// A sticker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sticker {
    /// Its number.
    pub id: &'static str,
    /// Its name in the app.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// The package it is in.
    pub package: &'static str,
}

// One row a line reads as a table.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &str)] = &[
    ("暗中观察", "221", "watching from the shadows"),
    ("我酸了", "224", "envious, sour"),
    ("打call", "246", "cheering with light sticks"),
    ("庆祝", "251", "celebration, party"),
    ("奋斗", "151", "striving, work hard"),
    ("惊讶", "143", "surprised"),
    ("疑问", "144", "question, puzzled"),
    ("仔细分析", "248", "analysing closely"),
    ("撅嘴", "184", "pouting"),
    ("泪奔", "199", "running in tears"),
    ("尊嘟假嘟", "276", "really?"),
    ("略略略", "113", "tongue out, teasing"),
    ("困", "180", "sleepy, tired"),
    ("折磨", "181", "torment"),
    ("抠鼻", "182", "picking the nose, bored"),
    ("鼓掌", "183", "applause, clapping"),
    ("斜眼笑", "204", "sideways smile, smirk"),
    ("辣眼睛", "216", "hurts the eyes"),
    ("哦哟", "217", "oh my"),
    ("吃瓜", "222", "eating melon, onlooker, gossip"),
    ("狗头", "225", "doge, joking"),
    ("敬礼", "227", "salute, respect"),
    ("哦", "231", "oh"),
    ("拿到红包", "236", "got a red envelope"),
    ("牛吖", "239", "awesome, bravo"),
    ("贴贴", "272", "cuddle, hug"),
    ("爱心", "138", "heart, love"),
    ("晚安", "170", "good night, moon"),
    ("太阳", "176", "sun, good morning"),
    ("柠檬", "266", "lemon, jealous"),
    ("大冤种", "267", "sucker, poor thing"),
    ("吐了", "132", "throwing up"),
    ("怒", "134", "angry"),
    ("玫瑰", "165", "rose, flower"),
    ("凋谢", "119", "wilted flower, sad"),
    ("点赞", "159", "thumbs up, like"),
    ("握手", "164", "handshake"),
    ("抱拳", "163", "fist salute, thanks"),
    ("ok", "169", "ok, agreed"),
    ("拳头", "174", "fist"),
    ("鞭炮", "191", "firecrackers"),
    ("烟花", "258", "fireworks"),
    ("六六六", "278", "six six six, great"),
];

fn all() -> impl Iterator<Item = Sticker> {
    TABLE.iter().map(|(name, id, about)| Sticker { id, name, about, package: PACKAGE })
}

/// Those that fit the words best; the first ones without words.
pub fn search(query: &str, limit: usize) -> Vec<Sticker> {
    let query = query.trim().to_lowercase();
    if query.is_empty() {
        return all().take(limit).collect();
    }
    let is_like = |it: &Sticker| {
        let (name, about) = (it.name.to_lowercase(), it.about.to_lowercase());
        let mut words = about.split([',', ' ']).filter(|word| !word.is_empty());
        name.contains(&query)
            || it.id == query
            || about.contains(&query)
            || words.any(|word| strsim::jaro_winkler(word, &query) >= LIKENESS)
    };
    let mut found: Vec<Sticker> = all().filter(is_like).collect();
    // A name that is meant exactly comes before one that is only near.
    found.sort_by_key(|it| it.name.to_lowercase() != query && it.id != query);
    found.truncate(limit);
    found
}

/// The one with this number or name.
pub fn sticker(word: &str) -> Option<Sticker> {
    let word = word.trim();
    all().find(|it| it.id == word || it.name.eq_ignore_ascii_case(word))
}
