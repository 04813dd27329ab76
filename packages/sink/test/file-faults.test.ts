import { playFileFaults } from './file-faults.ts'

playFileFaults({ first: 1, count: 30 })
