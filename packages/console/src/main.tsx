import "./styles/base.css"
import "./styles/shell.css"
import "./styles/parts.css"
import "./styles/dialogs.css"
import "./styles/forms.css"
import "./styles/pickers.css"
import "./styles/pages.css"
import "./styles/review.css"
import "./styles/steps.css"
import "./styles/narrow.css"
import "./styles/shared.css"
import "./styles/session.css"
import "./styles/code.css"
import "./styles/usage.css"
import { render } from "preact"
import { App } from "./App.js"
import { takeSetupCode } from "./account/SetupCode.js"
import { startWorkspace } from "./inbox/Workspace.js"
import { startTheme } from "./look/Theme.js"
import { startKeys } from "./palette/Keys.js"
import { startRouting } from "./route/Route.js"
import { startNotices } from "./told/Notices.js"
import { keepPush } from "./told/Push.js"
import { startTitle } from "./told/Title.js"

takeSetupCode()
startRouting()
startTheme()
startWorkspace()
startTitle()
startNotices()
keepPush()
startKeys()
const place = document.getElementById("console")
if (place !== null) render(<App />, place)
