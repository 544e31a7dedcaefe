// better-sqlite3 13 ends Node 20 with a segmentation fault, and 12 is aborted by Node 24. Each has the Node that it works on.
module.exports = require("better-sqlite3")
