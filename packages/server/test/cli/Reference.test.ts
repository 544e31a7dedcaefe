import { readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "vitest"
import { reinsAt } from "./Cli.js"

const file = join(import.meta.dirname, "../../../../docs/command-line.md")

/** Everything after this line of the page is made from the help of the commands. */
const mark =
  "<!-- From here on the page is made from the help of the commands: REINS_WRITE_DOCS=1 writes it anew. -->\n"

const helpOf = async (words: ReadonlyArray<string>): Promise<string> =>
  (await reinsAt({ cwd: tmpdir(), env: {} }, ["help", ...words])).stdout

/** The lines below a heading of a help, up to the next one. */
const section = (help: string, heading: string): string =>
  new RegExp(`^${heading}\n\n([\\s\\S]*?)(?=^[A-Z]+$|(?![\\s\\S]))`, "m").exec(help)?.[1]?.trim() ?? ""

/** The sentences of the library about every argument and option, which their form tells as well. */
const said =
  /^(?:An? user-defined piece of text|A true or false value|An integer|One of the following: .*)\.?$|^This \w+ (?:is optional|must be repeated at least \d+ times|may be repeated zero or more times)\.$|^A file path.*$/

const rows = (text: string): ReadonlyArray<string> =>
  text
    .split(/\n\n(?=\S)/)
    .filter((each) => each !== "")
    .map((each) => {
      const [name = "", ...lines] = each.split("\n").map((line) => line.trim())
      const about = lines.filter((line) => line !== "" && !said.test(line)).join(" ")
      return `| \`${name.replaceAll("|", "\\|")}\` | ${about.replaceAll("|", "\\|")} |`
    })

const chapterOf = async (name: string): Promise<string> => {
  const help = await helpOf(name.split(" "))
  const usage = section(help, "USAGE").replace(/^\$ \S+/, `reins ${name}`)
  const table = [...rows(section(help, "ARGUMENTS")), ...rows(section(help, "OPTIONS"))]
  const takes = table.length === 0 ? "" : `\n| Takes | |\n|---|---|\n${table.join("\n")}\n`
  return `\n## reins ${name}\n\n${section(help, "DESCRIPTION")}.\n\n\`\`\`text\n${usage}\n\`\`\`\n${takes}`
}

it("docs/command-line.md has what the help of every command says", async () => {
  const names = [...(await helpOf([])).matchAll(/^ {2}- ([a-z ]+?) {2,}/gm)].map(([, name = ""]) => name)
  const commands = names.filter((name) => !names.some((other) => other.startsWith(`${name} `)))
  assert.includeMembers(commands, ["init", "run", "sessions watch", "keys revoke", "serve"])
  let made = ""
  for (const name of commands) made += await chapterOf(name)
  const [written = "", found] = readFileSync(file, "utf8").split(mark)
  if (process.env["REINS_WRITE_DOCS"] === "1") writeFileSync(file, written + mark + made)
  else assert.strictEqual(found, made, "run this test with REINS_WRITE_DOCS=1")
})
