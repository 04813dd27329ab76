import { checkLaw } from './law.ts'

checkLaw({ first: 41, count: 160 })
