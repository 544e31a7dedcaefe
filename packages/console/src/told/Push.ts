import { signal } from "@preact/signals"
import { reins, serviceUrl } from "../api/Server.js"
import { keep, readKept } from "../ui/Kept.js"

/** The subscription of this browser for a workspace, as this browser keeps its id. */
const kept = (workspaceId: string) => `reins.push.${workspaceId}`

/** Moves when this browser has subscribed or ended that. */
const changes = signal(0)

/** True where the browser can be told while no page is open. */
export const canPush = (): boolean =>
  "serviceWorker" in navigator && "PushManager" in globalThis && typeof Notification !== "undefined"

/** True while this browser is told of a workspace. */
export const isPushed = (workspaceId: string): boolean =>
  changes.value >= 0 && (readKept(kept(workspaceId)) ?? "") !== ""

const remember = (workspaceId: string, id: string): void => {
  keep(kept(workspaceId), id)
  changes.value++
}

const worker = () => navigator.serviceWorker.register(`${serviceUrl}/ui/push-worker.js`, { scope: `${serviceUrl}/ui/` })

/** Asks the person and the browser, and tells the server. */
export const startPush = async (workspace_id: string, publicKey: string): Promise<void> => {
  if ((await Notification.requestPermission()) !== "granted")
    throw new Error("This browser does not allow notifications for this page.")
  const registration = await worker()
  await navigator.serviceWorker.ready
  const old = await registration.pushManager.getSubscription()
  const isOther = old !== null && keyText(old.options.applicationServerKey) !== publicKey
  if (isOther) await old.unsubscribe()
  const subscription = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: publicKey
  })
  const { endpoint, keys } = subscription.toJSON()
  const { id } = await reins.push.createSubscription({
    workspace_id,
    endpoint: endpoint ?? subscription.endpoint,
    p256dh: keys?.["p256dh"] ?? "",
    auth: keys?.["auth"] ?? ""
  })
  remember(workspace_id, id)
}

/** Ends it for a workspace. The browser keeps its address for the others. */
export const endPush = async (workspace_id: string): Promise<void> => {
  const push_subscription_id = readKept(kept(workspace_id)) ?? ""
  remember(workspace_id, "")
  await reins.push.removeSubscription({ push_subscription_id })
}

const keyText = (key: ArrayBuffer | null): string =>
  btoa(String.fromCharCode(...new Uint8Array(key ?? new ArrayBuffer(0))))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
