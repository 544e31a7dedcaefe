import { useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { workspace } from "../inbox/Workspace.js"
import { Outcome } from "../ui/Basics.js"
import { canPush, endPush, isPushed, startPush } from "./Push.js"

/** Has this browser told of a workspace while no page is open, where the operator has set a key. */
export const PushSwitch = () => {
  const key = useLoaded("the key", (signal) => reins.push.getKey({}, { signal }), [])
  const action = useAction()
  const shown = workspace.value
  const publicKey = key.value.value?.public_key ?? null
  if (shown === undefined || publicKey === null || !canPush()) return null
  const isOn = isPushed(shown.id)
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={isOn}
          disabled={action.busy.value !== undefined}
          onChange={() => action.run("the browser", () => (isOn ? endPush(shown.id) : startPush(shown.id, publicKey)))}
        />{" "}
        Also while no page is open, for {shown.name}
      </label>
      <Outcome of={action} />
    </>
  )
}
