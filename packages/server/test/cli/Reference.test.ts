import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Parameter } from "@reins/cli/Command"
import { everyCommand, type Resolved } from "@reins/cli/Resolved"
import { commands } from "@reins/server/cli/Commands"
import { commands as tried } from "@reins/testing/process/Commands"
import { assert, it } from "vitest"

const file = join(import.meta.dirname, "../../../../docs/command-line.md")

/** Everything after this line of the page is made from the help of the commands. */
const mark =
  "<!-- From here on the page is made from the help of the commands: REINS_WRITE_DOCS=1 writes it anew. -->\n"

const cell = (text: string): string => text.replaceAll("|", "\\|")

const nameOf = ({ isRepeated, kind, name, value }: Parameter<unknown>): string =>
  kind === "argument"
    ? `<${name}${isRepeated ? "..." : ""}>`
    : value === undefined
      ? `--${name}`
      : `--${name} <${value}>`

const aboutOf = ({ about, choices }: Parameter<unknown>): string =>
  choices === undefined ? about : `${about}: ${choices.map((each) => `\`${each}\``).join(", ")}`

const chapterOf = ({ about, command, path }: Resolved): string => {
  if (command.kind === "group") return ""
  const { details, examples, takes } = command
  const rows = Object.values(takes).map((each) => `| \`${cell(nameOf(each))}\` | ${cell(aboutOf(each))} |\n`)
  const more = details === undefined ? "" : ` ${details.replaceAll("\n", " ")}`
  const lines = examples.map(([words, said]) => `${words}  # ${said}\n`).join("")
  return `\n## reins ${path.join(" ")}\n\n${about}.${more}\n\n\`\`\`text\n${lines}\`\`\`\n\n| Takes | |\n|---|---|\n${rows.join("")}`
}

it("docs/command-line.md has what the help of every command says", { timeout: 300_000 }, async () => {
  const all = await everyCommand(commands)
  assert.includeMembers(
    all.map(({ path }) => path.join(" ")),
    ["init", "run", "sessions watch", "keys revoke", "serve"]
  )
  const made = all.map(chapterOf).join("")
  const [written = "", found] = readFileSync(file, "utf8").split(mark)
  if (process.env["REINS_WRITE_DOCS"] === "1") writeFileSync(file, written + mark + made)
  else assert.strictEqual(found, made, "run this test with REINS_WRITE_DOCS=1")
})

it("every command has arguments with which the tests of warnings and of collected servers run it", async () => {
  const names = (await everyCommand(commands)).flatMap(({ command, path }) =>
    command.kind === "group" ? [] : path.join(" ")
  )
  assert.sameMembers(names, ["serve", ...Object.keys(tried)])
})
