import { playPlans } from './plans.ts'

playPlans({ first: 2501, count: 2500 })
