import { useSignal } from "@preact/signals"
import type { Connection } from "@reins/client"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { go } from "../route/Route.js"
import { Dialog } from "../ui/Dialog.js"
import { ConnectionChange } from "./ConnectionChange.js"
import { isGateway } from "./ConnectionKinds.js"

/** Opens the form of the connection that a link of the usage is about. Where several fit, it asks for one. */
export const SetPrice = ({
  changed,
  connections
}: {
  /** Undefined until they are there. */
  readonly connections: ReadonlyArray<Connection> | undefined
  readonly changed: () => void
}) => {
  const asked = new URLSearchParams(location.search)
  const [provider, model] = [asked.get("provider"), asked.get("price")]
  const chosen = useSignal<string | undefined>(undefined)
  const isClosed = useSignal(false)
  const kind = useLoaded(
    "the agents",
    async (signal) =>
      provider === null
        ? undefined
        : (await reins.catalog.listHarnesses({}, { signal })).items.find(({ provider_id }) => provider_id === provider)
            ?.connection?.kind,
    [provider]
  )
  if (model === null || isClosed.value || connections === undefined || kind.value.value === undefined) return null
  const usable = connections.filter(({ kind, state }) => isGateway(kind) && state !== "revoked")
  const own = usable.filter((each) => each.kind === kind.value.value)
  const fitting = own.length === 0 ? usable : own
  const connection = fitting.length === 1 ? fitting[0] : fitting.find(({ id }) => id === chosen.value)
  const close = () => {
    isClosed.value = true
    go("connections", { replace: true })
    changed()
  }
  return connection === undefined ? (
    <Dialog title={`Whose price of ${model}?`} close={close}>
      {fitting.length === 0 ? (
        <p>There is no connection to models. Add one first.</p>
      ) : (
        <p class="answers">
          {fitting.map(({ id, label }) => (
            <button key={id} type="button" onClick={() => (chosen.value = id)}>
              {label}
            </button>
          ))}
        </p>
      )}
    </Dialog>
  ) : (
    <Dialog title={`Set the price of ${model}`} isWide close={close}>
      <ConnectionChange key={connection.id} connection={connection} isGateway priceOf={model} done={close} />
    </Dialog>
  )
}
