import { openCode2Password, openCode2Version } from '@reply/testing'
import { playTools } from './on-opencode.ts'

playTools({ version: openCode2Version, password: openCode2Password })
