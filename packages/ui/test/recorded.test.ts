import { testRecordings } from './show-recordings.ts'

testRecordings(7)
