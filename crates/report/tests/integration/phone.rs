//! Pages on a phone, in a real browser: nothing is wider than the screen, and nothing on the first screen
//! scrolls sideways.

use std::path::Path;
use std::process::Command;

use crate::fixture::{Shape, data, remade, speed_up};
use report::html;

const WIDTH: u32 = 390;
const HEIGHT: u32 = 844;

/// Loads each page in a frame of a phone's size (a window is never narrower than 500 px) and writes a line
/// about each into its text: the page's width, then what scrolls sideways on the first screen.
const LOOK: &str = r#"
const done = [];
for (const frame of document.querySelectorAll("iframe")) {
  const page = frame.contentDocument, found = [];
  for (const element of page.querySelectorAll("body *")) {
    const place = element.getBoundingClientRect();
    if (place.width > 0 && place.top < HEIGHT && element.scrollWidth > element.clientWidth + 1
        && /auto|scroll/.test(getComputedStyle(element).overflowX))
      found.push(element.tagName + "." + element.className + ": " + element.textContent.trim().slice(0, 40));
  }
  done.push(frame.id + "|" + page.documentElement.scrollWidth + "|" + found.join("; "));
}
document.getElementById("found").textContent = done.join("\n");
"#;

/// The lines that the browser wrote; `None` without a browser.
fn looked_at(pages: &[(&str, String)], folder: &Path) -> Option<Vec<String>> {
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|done| done.status.success()))?;
    let mut frames = String::new();
    for (name, page) in pages {
        std::fs::write(folder.join(format!("{name}.html")), page).expect("own folder");
        frames += &format!(
            "<iframe id='{name}' src='{name}.html' style='width:{WIDTH}px;height:{HEIGHT}px;border:0'></iframe>\n"
        );
    }
    let look = LOOK.replace("HEIGHT", &HEIGHT.to_string());
    let outer = folder.join("phone.html");
    let text =
        format!("<!doctype html>{frames}<pre id=found></pre><script>onload = () => {{ {look} }}</script>");
    std::fs::write(&outer, text).expect("own folder");
    let done = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-sync",
        ])
        .args(["--disable-background-networking", "--disable-component-update", "--hide-scrollbars"])
        .args(["--allow-file-access-from-files", "--window-size=1200,900", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("browser").display()))
        .arg(format!("file://{}", outer.display()))
        .output()
        .expect("the browser starts");
    let shown = String::from_utf8_lossy(&done.stdout).into_owned();
    let (_, found) = shown.split_once("<pre id=\"found\">").expect("what it found");
    let (found, _) = found.split_once("</pre>").expect("its end");
    Some(found.lines().map(str::to_owned).collect())
}

#[test]
#[expect(clippy::print_stderr, reason = "a test has no other way to say it")]
fn nothing_of_the_first_screen_scrolls_sideways() {
    let small = Shape::small;
    let long = "a_reporting_query_with_every_join_that_we_could_think_of_and_no_blank_in_its_name.sql";
    let mut large = data(&small());
    large.runs.iter_mut().filter(|run| run.arm.as_deref() == Some("gis")).for_each(|run| speed_up(run, 52.0));
    let mut named = data(&Shape { arms: vec![], clients: vec![4], rounds: 1, ..small() });
    named.experiment.question = format!("How fast is {long} with 4 clients?");
    named.runs.truncate(1);
    named.runs.iter_mut().for_each(|run| {
        run.workload = long.to_owned();
        run.factors.insert("workload".to_owned(), long.to_owned());
    });
    let three = vec![("stock", 0.0), ("gis", 0.06), ("a_third_arm_with_a_longer_name", -0.2)];
    let pages = [
        ("whole", data(&Shape::default())),
        ("small", data(&small())),
        ("three", data(&Shape { arms: three, ..small() })),
        ("large", large),
        ("run", named),
    ];
    let pages = pages.map(|(name, mut data)| {
        // The name is in the next command.
        data.experiment.name = long.to_owned();
        (name, html::page(&remade(data)))
    });
    let folder = tempfile::tempdir().expect("a folder");
    let Some(found) = looked_at(&pages, folder.path()) else {
        eprintln!("a browser to look at pages: not available: no Chromium");
        return;
    };
    assert_eq!(found.len(), pages.len(), "{found:?}");
    for line in found {
        let parts: Vec<&str> = line.split('|').collect();
        let [name, width, scrolls] = parts[..] else { panic!("{line}") };
        assert!(width.parse::<u32>().is_ok_and(|width| width <= WIDTH), "{name} is {width} px wide");
        assert_eq!(scrolls, "", "{name}");
    }
}
