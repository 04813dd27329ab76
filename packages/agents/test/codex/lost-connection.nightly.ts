import { codexVersions } from './codex-stage.ts'
import { testLostConnection } from './lost-connection.ts'

for (const version of codexVersions) testLostConnection(version)
