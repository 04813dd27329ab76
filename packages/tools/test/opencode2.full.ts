import { secondPassword, secondVersion } from '@reply/testing'
import { playTools } from './on-opencode.ts'

playTools({ version: secondVersion, password: secondPassword })
