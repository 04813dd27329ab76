import { playSeeds } from './seeds.ts'

playSeeds({ first: 1, count: 500 })
// A notice came to stand above a text whose post had no known outcome, so that the text was posted twice.
playSeeds({ first: 3462, count: 1 })
