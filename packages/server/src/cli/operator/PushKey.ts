import { command } from "@reins/cli/Command"
import { tell } from "@reins/cli/terminal/Output"
import { newPushKey } from "@reins/core/push/VapidKeys"
import { Effect } from "effect"

/** `reins push-key` */
export const pushKey = command({
  takes: {},
  details:
    "Prints a new private key as a setting. Set it once and keep it: browsers subscribe with its public key, and another key tells none of them.",
  examples: [
    ["reins push-key", "A new key"],
    ["reins push-key >> reins.env", "Add it to the environment of a server"]
  ],
  run: () =>
    Effect.sync(() => {
      process.stdout.write(`REINS_PUSH_KEY=${newPushKey()}\n`)
      tell("Set it in the environment of every node, then restart them. People switch notifications on under Account.")
    })
})
