/** The languages that have colours, by the names that fences and files give them. */
const names: Readonly<Record<string, string>> = {
  bash: "bash sh shell zsh console",
  c: "c h",
  cpp: "cpp cc cxx hpp hh c++",
  csharp: "csharp cs",
  css: "css",
  diff: "diff patch",
  dockerfile: "dockerfile",
  go: "go golang",
  ini: "ini toml cfg conf properties",
  java: "java",
  javascript: "javascript js jsx mjs cjs",
  json: "json jsonc json5 webmanifest",
  kotlin: "kotlin kt kts",
  makefile: "makefile mk make",
  markdown: "markdown md mdx",
  php: "php",
  python: "python py pyi",
  ruby: "ruby rb gemspec",
  rust: "rust rs",
  scss: "scss",
  sql: "sql",
  swift: "swift",
  typescript: "typescript ts tsx mts cts",
  xml: "xml html htm svg vue svelte xhtml",
  yaml: "yaml yml"
}

const byName = new Map(
  Object.entries(names).flatMap(([language, all]) => all.split(" ").map((name) => [name, language] as const))
)

/** The language of a fence; undefined for one without colours. */
export const languageNamed = (name: string): string | undefined => byName.get(name.toLowerCase())

/** The language of a file by its name. */
export const languageOfFile = (path: string): string | undefined => {
  const file = path.slice(path.lastIndexOf("/") + 1).toLowerCase()
  return byName.get(file) ?? (file.includes(".") ? byName.get(file.slice(file.lastIndexOf(".") + 1)) : undefined)
}
