import "./styles/base.css"
import "./styles/parts.css"
import "./styles/pages.css"
import "./styles/code.css"
import { render } from "preact"
import { App } from "./App.js"
import { takeSetupCode } from "./account/SetupCode.js"
import { startWorkspace } from "./inbox/Workspace.js"
import { startTheme } from "./look/Theme.js"
import { startRouting } from "./route/Route.js"

takeSetupCode()
startRouting()
startTheme()
startWorkspace()
const place = document.getElementById("console")
if (place !== null) render(<App />, place)
