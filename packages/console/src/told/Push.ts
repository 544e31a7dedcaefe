import { effect } from "@preact/signals"
import { ReinsApiError } from "@reins/client"
import { reins, serviceUrl } from "../api/Server.js"
import { workspace } from "../inbox/Workspace.js"
import { keep, readKept } from "../ui/Kept.js"

/** The subscription of this browser for a workspace, as this browser keeps its id. */
const kept = (workspaceId: string) => `reins.push.${workspaceId}`

/** True where the browser can be told while no page is open. */
export const canPush = (): boolean =>
  "serviceWorker" in navigator && "PushManager" in globalThis && typeof Notification !== "undefined"

/**
 * True while the server tells this browser of a workspace. It forgets a browser by itself once the push service has given that up, and the person
 * may have removed it elsewhere.
 */
export const isPushed = async (workspace_id: string, signal: AbortSignal): Promise<boolean> => {
  const id = readKept(kept(workspace_id)) ?? ""
  if (id === "") return false
  const all = await reins.push.listSubscriptions({ workspace_id }, { signal }).all()
  return all.some((each) => each.id === id)
}

/**
 * Subscribes this browser anew where the server has another key than the one that the browser subscribed with. The push service would refuse each
 * notice. The person has allowed notifications before, so nobody is asked.
 */
export const mendPush = async (workspace_id: string, publicKey: string): Promise<void> => {
  if ((readKept(kept(workspace_id)) ?? "") === "" || Notification.permission !== "granted") return
  const registration = await navigator.serviceWorker.getRegistration(`${serviceUrl}/ui/`)
  const subscription = await registration?.pushManager.getSubscription()
  if (subscription && keyText(subscription.options.applicationServerKey) !== publicKey)
    await startPush(workspace_id, publicKey)
}

/** Mends the subscription of this browser in each workspace that is opened. One that cannot be mended now is with the next page. */
export const keepPush = (): void => {
  effect(() => {
    const shown = workspace.value
    if (shown === undefined || !canPush() || (readKept(kept(shown.id)) ?? "") === "") return
    reins.push
      .getKey()
      .then(({ public_key }) => (public_key === null ? undefined : mendPush(shown.id, public_key)))
      .catch(() => undefined)
  })
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
  keep(kept(workspace_id), id)
}

/** Ends it for a workspace. The browser keeps its address for the others, and the id until the server has removed it. */
export const endPush = async (workspace_id: string): Promise<void> => {
  const push_subscription_id = readKept(kept(workspace_id)) ?? ""
  await reins.push.removeSubscription({ push_subscription_id }).catch((error: unknown) => {
    if (!isRemoved(error)) throw error
  })
  keep(kept(workspace_id), "")
}

const isRemoved = (error: unknown): boolean => error instanceof ReinsApiError && error.code === "not_found"

const keyText = (key: ArrayBuffer | null): string =>
  btoa(String.fromCharCode(...new Uint8Array(key ?? new ArrayBuffer(0))))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
