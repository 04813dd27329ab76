import { secondVersion } from '@reply/testing'
import { testResume } from './resume-live.ts'

testResume(secondVersion)
