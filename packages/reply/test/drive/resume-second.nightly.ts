import { openCode2Version } from '@reply/testing'
import { testResume } from './resume-live.ts'

testResume(openCode2Version)
