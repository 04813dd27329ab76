import { playFaults } from './faults.ts'

playFaults({ first: 1, count: 100 })
playFaults({ first: 1, count: 50, isHard: true })
