import { versions } from './send-file-server.ts'
import { testSendFile } from './sending-opencode.ts'

for (const version of versions.slice(0, 1)) testSendFile(version)
