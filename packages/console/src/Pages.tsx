import { AccountPage } from "./account/AccountPage.js"
import { ConnectionsPage } from "./connections/ConnectionsPage.js"
import { Inbox } from "./inbox/Inbox.js"
import { workspace } from "./inbox/Workspace.js"
import { ProjectPage } from "./project/ProjectPage.js"
import { ProjectsPage } from "./project/ProjectsPage.js"
import { ReviewPage } from "./review/ReviewPage.js"
import { parts } from "./route/Route.js"
import { SessionPage } from "./session/SessionPage.js"
import { FirstSteps } from "./setup/FirstSteps.js"
import { KeysPage } from "./setup/KeysPage.js"
import { MembersPage } from "./setup/MembersPage.js"
import { NewSessionPage } from "./setup/NewSessionPage.js"
import { ServerPage } from "./setup/ServerPage.js"
import { Nothing, PageHead } from "./ui/Basics.js"
import { UsagePage } from "./usage/UsagePage.js"
import { WebhookPage } from "./webhooks/WebhookPage.js"
import { WebhooksPage } from "./webhooks/WebhooksPage.js"

/** The page of the address. */
export const Pages = () => {
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
    case "projects":
      return <ProjectsPage {...given} />
    case "members":
      return <MembersPage {...given} />
    case "webhooks":
      return id === "" ? <WebhooksPage {...given} /> : <WebhookPage key={id} endpointId={id} />
    case "keys":
      return <KeysPage {...given} />
    case "usage":
      return <UsagePage {...given} />
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
