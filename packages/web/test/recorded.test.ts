import { testRecordings } from './recorded.ts'

testRecordings(7)
