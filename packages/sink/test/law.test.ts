import { checkLaw } from './law.ts'

checkLaw({ first: 1, count: 20 })
