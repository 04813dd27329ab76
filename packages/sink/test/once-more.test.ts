import { playSeeds } from './seeds.ts'

playSeeds({ first: 5001, count: 5000 })
