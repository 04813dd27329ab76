import { testSource } from './live-contract.ts'
import { testQueries } from './live-queries.ts'

testSource('1.18.33', {}, testQueries)
