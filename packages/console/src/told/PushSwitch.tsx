import { useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { workspace } from "../inbox/Workspace.js"
import { ErrorBar, Outcome } from "../ui/Basics.js"
import { canPush, endPush, isPushed, mendPush, startPush } from "./Push.js"

/** Has this browser told of a workspace while no page is open, where the operator has set a key. */
export const PushSwitch = () => {
  const shown = workspace.value
  const key = useLoaded("the key", (signal) => reins.push.getKey({}, { signal }), [])
  const publicKey = key.value.value?.public_key ?? null
  const told = useLoaded(
    "whether this browser is told",
    async (signal) => {
      if (shown === undefined || !canPush()) return false
      if (publicKey !== null) await mendPush(shown.id, publicKey)
      return isPushed(shown.id, signal)
    },
    [shown?.id, publicKey]
  )
  const action = useAction()
  if (shown === undefined || publicKey === null || !canPush()) return null
  const isOn = told.value.value
  const change = async () => {
    await (isOn === true ? endPush(shown.id) : startPush(shown.id, publicKey))
    told.value.value = isOn !== true
  }
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={isOn === true}
          disabled={isOn === undefined || action.busy.value !== undefined}
          onChange={() => action.run("the browser", change)}
        />{" "}
        Also while no page is open, for {shown.name}
      </label>
      <ErrorBar failure={told.failure.value} again={told.reload} />
      <Outcome of={action} />
    </>
  )
}
