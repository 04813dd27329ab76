import { playSeeds } from './seeds.ts'

playSeeds({ first: 501, count: 800 })
