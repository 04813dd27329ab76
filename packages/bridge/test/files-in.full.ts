import { openCode2Version, recordedVersions } from '@reply/testing'
import { testFilesIn } from './files-in.ts'

// `files-in.nightly.ts` has the oldest version.
for (const version of [...recordedVersions.slice(-1), openCode2Version]) testFilesIn(version)
