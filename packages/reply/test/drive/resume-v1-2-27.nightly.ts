import { testResume } from './resume-live.ts'

testResume('1.2.27')
