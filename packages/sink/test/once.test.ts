import { playSeeds } from './seeds.ts'

playSeeds({ first: 1, count: 500 })
