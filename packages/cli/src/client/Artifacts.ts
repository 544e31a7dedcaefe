import { writeFile } from "node:fs/promises"
import { basename } from "node:path"
import { argument, entry, flag, group, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { remoteCommand } from "./Remote.js"
import { sessionArgument, sessionNamed } from "./Resolve.js"

const list = remoteCommand({
  takes: {
    session: sessionArgument,
    json: flag("json", "Lines of JSON in the place of text")
  },
  examples: [
    ["reins artifacts list sess_01h…", "The files that the agent has published"],
    ["reins artifacts list sess_01h… --json", "The same for a program"]
  ],
  run: async ({ json, session }, connect) => {
    const remote = await connect()
    const { reins } = remote
    const session_id = await sessionNamed(remote, session)
    const rows: Array<ReadonlyArray<string>> = []
    for await (const artifact of reins.sessions.listArtifacts({ session_id, limit: 100 })) {
      const { created_at, id, size, title } = artifact
      if (json) printJsonNow(artifact)
      else rows.push([id, created_at.slice(0, 16).replace("T", " "), String(size), harmless(title)])
    }
    if (json) return
    if (rows.length === 0) return tell("The agent has published no file in this session.")
    process.stdout.write(table([["ARTIFACT", "TIME", "BYTES", "TITLE"], ...rows]))
  }
})

const get = remoteCommand({
  takes: {
    artifact: argument("artifact", "The id of an artifact"),
    output: option("output", "The file to write (its own name, here); - for the standard output", {
      value: "file",
      short: "o"
    })
  },
  details: "A file that is there already is kept, unless --output names it.",
  examples: [
    ["reins artifacts get art_01h…", "Save the file under its own name"],
    ["reins artifacts get art_01h… -o -", "Write it to the standard output"]
  ],
  run: async ({ artifact: artifact_id, output }, connect) => {
    const { reins } = await connect()
    const { path } = await reins.artifacts.get({ artifact_id })
    const content = await reins.artifacts.getContent({ artifact_id })
    if (output === "-") return void process.stdout.write(Buffer.from(content))
    // The name is the agent's: no part of it may lead to another directory or speak to the terminal.
    const file = output ?? harmless(basename(path)).replace(/^\.+/, "_")
    await writeFile(file, content, { flag: output === undefined ? "wx" : "w" }).catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new CommandFailed({ message: `${file} cannot be written (${reason}). Choose another file with --output.` })
    })
    tell(`The file is in ${file}.`)
  }
})

/** `reins artifacts` */
export const artifacts = group(
  entry("list", "List the files that an agent has published", list),
  entry("get", "Save one of them", get)
)
