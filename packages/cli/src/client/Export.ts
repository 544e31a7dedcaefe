import { createWriteStream } from "node:fs"
import { rm } from "node:fs/promises"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { choice, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { tell } from "../terminal/Output.js"
import { target } from "./Profile.js"
import { remoteCommand } from "./Remote.js"
import { sessionArgument, sessionNamed } from "./Resolve.js"

/** `reins sessions export` */
export const exportSession = remoteCommand({
  takes: {
    session: sessionArgument,
    format: choice("format", ["markdown", "json"], "markdown for people, json for programs (markdown)"),
    output: option("output", "The file to write, in the place of the standard output", { value: "file", short: "o" })
  },
  details: "The file has no secrets. An existing file is written over.",
  examples: [
    ["reins sessions export sess_01h… -o session.md", "Keep a session as Markdown"],
    ["reins sessions export sess_01h… --format json | jq .messages", "Give it to a program"]
  ],
  run: async ({ format = "markdown", output, session: named }, connect) => {
    const remote = await connect()
    const { reins } = remote
    const session = await sessionNamed(remote, named)
    // Says in a sentence why there is no such session.
    await reins.sessions.get({ session_id: session })
    const response = await fetch(
      `${reins.baseUrl}/api/sessions/${encodeURIComponent(session)}/export?format=${format}`,
      { headers: { authorization: `Bearer ${target(reins.baseUrl).apiKey ?? ""}` }, redirect: "manual" }
    )
    if (!response.ok || response.body === null)
      throw new CommandFailed({ message: `The session could not be exported: the server answered ${response.status}.` })
    await save(Readable.fromWeb(response.body), output)
    if (output !== undefined) tell(`The session is in ${output}.`)
  }
})

/** Writes an answer as it comes. A file that is not whole does not stay. */
const save = async (answer: Readable, file: string | undefined): Promise<void> => {
  try {
    if (file === undefined) await pipeline(answer, process.stdout, { end: false })
    else await pipeline(answer, createWriteStream(file))
  } catch (cause) {
    if (file !== undefined && !isOfFile(cause)) await rm(file, { force: true })
    const reason = cause instanceof Error ? cause.message : cause
    throw new CommandFailed({
      message: isOfFile(cause)
        ? `${file} cannot be written (${reason}). Choose another file with --output.`
        : `The export broke off (${reason}). Run the command again.`
    })
  }
}

const isOfFile = (cause: unknown): boolean => cause instanceof Error && "syscall" in cause && cause.syscall === "open"
