import { playTools } from './on-opencode.ts'

playTools({ version: '1.18.33' })
