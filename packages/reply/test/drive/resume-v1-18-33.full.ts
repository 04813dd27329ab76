import { testResume } from './resume-live.ts'

testResume('1.18.33')
