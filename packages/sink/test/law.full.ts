import { checkLaw } from './law.ts'

checkLaw({ first: 21, count: 60 })
