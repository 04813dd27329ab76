import { codexVersions } from './codex-stage.ts'
import { testLostConnection } from './lost-connection.ts'

// `lost-connection.nightly.ts` has the version before.
testLostConnection(codexVersions[1])
