import { lazy, Suspense } from "preact/compat"
import { Inbox } from "./inbox/Inbox.js"
import { workspace } from "./inbox/Workspace.js"
import { parts } from "./route/Route.js"
import { Nothing, PageHead, Waiting } from "./ui/Basics.js"

// The inbox comes first. Every other page is loaded when somebody goes there.
const AccountPage = lazy(() => import("./account/AccountPage.js").then(({ AccountPage }) => AccountPage))
const AutomationsPage = lazy(() =>
  import("./automations/AutomationsPage.js").then(({ AutomationsPage }) => AutomationsPage)
)
const ConnectionsPage = lazy(() =>
  import("./connections/ConnectionsPage.js").then(({ ConnectionsPage }) => ConnectionsPage)
)
const ConnectedPage = lazy(() => import("./connections/ConnectedPage.js").then(({ ConnectedPage }) => ConnectedPage))
const ProjectPage = lazy(() => import("./project/ProjectPage.js").then(({ ProjectPage }) => ProjectPage))
const ProjectsPage = lazy(() => import("./project/ProjectsPage.js").then(({ ProjectsPage }) => ProjectsPage))
const ReviewPage = lazy(() => import("./review/ReviewPage.js").then(({ ReviewPage }) => ReviewPage))
const SessionPage = lazy(() => import("./session/SessionPage.js").then(({ SessionPage }) => SessionPage))
const FirstSteps = lazy(() => import("./setup/FirstSteps.js").then(({ FirstSteps }) => FirstSteps))
const KeysPage = lazy(() => import("./setup/KeysPage.js").then(({ KeysPage }) => KeysPage))
const MembersPage = lazy(() => import("./setup/MembersPage.js").then(({ MembersPage }) => MembersPage))
const NewSessionPage = lazy(() => import("./setup/NewSessionPage.js").then(({ NewSessionPage }) => NewSessionPage))
const ServerPage = lazy(() => import("./setup/ServerPage.js").then(({ ServerPage }) => ServerPage))
const SettingsPage = lazy(() => import("./setup/SettingsPage.js").then(({ SettingsPage }) => SettingsPage))
const UsagePage = lazy(() => import("./usage/UsagePage.js").then(({ UsagePage }) => UsagePage))
const WebhookPage = lazy(() => import("./webhooks/WebhookPage.js").then(({ WebhookPage }) => WebhookPage))
const WebhooksPage = lazy(() => import("./webhooks/WebhooksPage.js").then(({ WebhooksPage }) => WebhooksPage))

/** The page of the address. */
export const Pages = () => (
  <Suspense fallback={<Waiting what="the page" />}>
    <Page />
  </Suspense>
)

const Page = () => {
  const [page = "", id = "", part = "", of = ""] = parts.value
  const workspaceId = workspace.value?.id
  if (workspaceId === undefined)
    return (
      <>
        <PageHead title="No workspace" />
        <Nothing>You belong to no workspace. Ask somebody to invite you.</Nothing>
      </>
    )
  const given = { key: workspaceId, workspaceId }
  if (page === "sessions" && id !== "")
    return part === "review" && of !== "" ? (
      <ReviewPage key={of} sessionId={id} changesetId={of} />
    ) : (
      <SessionPage key={id} sessionId={id} tab={part} />
    )
  if (page === "projects" && id !== "") return <ProjectPage key={id} projectId={id} />
  switch (page) {
    case "":
      return <Inbox />
    case "new":
      return <NewSessionPage {...given} />
    case "start":
      return <FirstSteps {...given} />
    case "connections":
      return <ConnectionsPage {...given} />
    case "connected":
      return <ConnectedPage />
    case "projects":
      return <ProjectsPage {...given} />
    case "members":
      return <MembersPage {...given} />
    case "automations":
      return <AutomationsPage {...given} />
    case "webhooks":
      return id === "" ? <WebhooksPage {...given} /> : <WebhookPage key={id} endpointId={id} />
    case "keys":
      return <KeysPage {...given} />
    case "usage":
      return <UsagePage {...given} />
    case "settings":
      return <SettingsPage {...given} />
    case "server":
      return <ServerPage {...given} />
    case "account":
      return <AccountPage />
    default:
      return (
        <>
          <PageHead title="There is no such page" />
          <Nothing>
            <a href="../ui">Go to the inbox</a>
          </Nothing>
        </>
      )
  }
}
