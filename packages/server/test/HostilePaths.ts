/**
 * Spellings of "up", of a repository's directory and of places elsewhere. `first` has each spelling in one shape, and `others` has the other
 * shapes.
 */
export const hostilePaths: { readonly first: ReadonlyArray<string>; readonly others: ReadonlyArray<string> } = (() => {
  const ups = [
    "..",
    "../..",
    "./..",
    ".../..",
    "..\\..",
    "..%2f..",
    "%2e%2e",
    "%252e%252e",
    "..;",
    "..\0",
    "..\u2215..",
    "..\uff0f..",
    "\uff0e\uff0e",
    "..\u2216",
    "..%c0%af..",
    "..%00",
    "..\n",
    "..\t",
    ".. ",
    ". .",
    "dir/..",
    "dir/../..",
    "dir/./../..",
    "dir//..",
    "dir/inside.txt/..",
    "..\u200b",
    "..\u202e",
    "~",
    "$HOME",
    "\ud800.."
  ]
  const targets = ["outside/secret", "outside", "etc/passwd", "workspace/dir/inside.txt", "trusted.git/HEAD", ""]
  const upTo = (up: string, target = "") => (target === "" ? up : `${up}/${target}`)
  const climbing = ups.flatMap((up) => targets.map((target) => upTo(up, target)))
  const absolute = [
    "/etc/passwd",
    "//etc/passwd",
    "///etc/passwd",
    "/proc/self/environ",
    "/proc/self/fd/0",
    "/proc/self/root/etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "\\\\server\\share",
    "//server/share",
    "\\\\?\\C:\\",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "/",
    "//",
    "\\",
    "/.",
    "/.."
  ]
  const gits = [
    ".git",
    ".GIT",
    ".Git",
    "git~1",
    "GIT~1",
    ".git.",
    ".git ",
    ".git::$INDEX_ALLOCATION",
    ".g\u200cit",
    "\ufeff.git",
    ".ｇｉｔ",
    ".git\n"
  ]
  const inGit = ["", "/config", "/HEAD", "/hooks/post-checkout", "/objects", "/../.git/config"]
  const repositories = gits.flatMap((git) => inGit.flatMap((file) => [`${git}${file}`, `dir/${git}${file}`]))
  const strange = [
    ".",
    "./",
    "./.",
    "a//b",
    "a/",
    "a\0b",
    "\0",
    "dir/inside.txt\0.png",
    "dir/inside.txt/",
    "dir/inside.txt/x",
    "x".repeat(256),
    `dir/${"é".repeat(128)}`,
    "a/".repeat(2100),
    `${"x/".repeat(500)}x`,
    "\ud800",
    "\udfff/x",
    "-rf",
    "--help",
    "--output=x",
    ":(glob)**",
    ":/",
    ":!dir",
    "HEAD",
    "*",
    "?",
    "[a-z]",
    "dir/*",
    "con",
    "nul",
    "aux.txt",
    "com1",
    "dir/inside.txt:stream",
    "dir/inside.txt::$DATA",
    "link",
    "link/secret",
    "link-file",
    "dangling",
    "loop",
    "loop/x",
    "hard",
    "fifo",
    "socket",
    "zero",
    "disk",
    "dir/link/secret"
  ]
  const wrapped = [...climbing.slice(0, 120)].flatMap((path) => [encodeURIComponent(wellFormed(path)), `dir/${path}`])
  const first = new Set([
    ...ups.map((up, index) => upTo(up, targets[index % targets.length])),
    ...absolute,
    ...gits.flatMap((git, index) => [`${git}${inGit[index % inGit.length]}`, `dir/${git}`]),
    ...strange,
    ...wrapped.filter((_, index) => index % 8 < 2)
  ])
  const others = new Set([...climbing, ...repositories, ...wrapped].filter((path) => !first.has(path)))
  return { first: [...first], others: [...others] }
})()

export function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}
