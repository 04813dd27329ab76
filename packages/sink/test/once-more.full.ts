import { playSeeds } from './seeds.ts'

playSeeds({ first: 5251, count: 4750 })
