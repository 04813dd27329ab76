import { edges, testRecorded } from './view-recorded.ts'

testRecorded((version) => !edges.includes(version))
