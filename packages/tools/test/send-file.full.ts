import { versions } from './send-file-server.ts'
import { testSendFile } from './sending-opencode.ts'

// `send-file.nightly.ts` has the oldest version.
for (const version of versions.slice(1)) testSendFile(version)
