import { firstSeed } from '../../../scripts/first-seed.ts'
import { checkLaw } from './law.ts'

checkLaw({ first: firstSeed('REPLY_LAW_SEED'), count: 3000 })
