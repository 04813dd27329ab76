import { playPlans } from './plans.ts'

playPlans({ first: 1, count: 150 })
