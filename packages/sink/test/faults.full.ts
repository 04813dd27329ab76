import { playFaults } from './faults.ts'

playFaults({ first: 1, count: 1000 })
playFaults({ first: 1, count: 500, isHard: true })
