import { argument, flag } from "../Command.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { exitCodeOfWatch, nextCommand, watchRequest } from "./FollowRequest.js"
import { remoteCommand } from "./Remote.js"

/** `reins merge-requests watch` */
export const watch = remoteCommand({
  takes: {
    request: argument("merge-request", "The id of a merge request"),
    json: flag("json", "A line of JSON for each event, and a last one with the merge request")
  },
  details:
    "It prints a line whenever something changes, also through restarts of the server.\n" +
    "It ends when the request is merged or closed, or when a person has to go on, and says why.\n" +
    "Exits with 4 when it was not merged, and with 5 after Ctrl-C, which leaves it as it is.",
  examples: [
    ["reins merge-requests watch mr_01h…", "See what it waits for, until it is merged"],
    ["reins merge-requests watch mr_01h… --json | jq -r .type", "The types of its events"]
  ],
  run: async ({ json, request: id }, connect) => {
    const { reins } = await connect()
    const watched = await watchRequest(reins, id, { json })
    process.exitCode = exitCodeOfWatch(watched)
    const { end, last } = watched
    if (json) return end === undefined || last === undefined ? undefined : printJsonNow(last.request)
    if (end === undefined) return tell("The merge request stays as it is.")
    const next = nextCommand(end, id)
    if (next !== undefined) tell(`Go on: ${next}`)
  }
})
