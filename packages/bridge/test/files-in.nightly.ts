import { recordedVersions } from '@reply/testing'
import { testFilesIn } from './files-in.ts'

testFilesIn(recordedVersions[0])
